/**
 * The vocabulary of sentences about mailboxes: names of a mailbox, and what is said of it.
 *
 * Parts of patterns, joined by `sentence`. Every repetition has a bound.
 */

/** Before a noun: it then names our mailbox, our sender or our host. */
const notOurs =
  "(?<!\\b(?:(?:for|of) (?:this|the|that|your)|your|our|sender|sender's|senders|sending|source|from|client|ip|host|hostname|server|remote|network|return|mx|dns|smtp|login|reply|reply[ -]to|web)[ -](?:e-?mail |mail )?)"

const nouns =
  'user ?name|user ?id|user|mail[ -]?box|mail-?drop|recipient|rcpt|account|alias|addressee|member|customer|subscriber|person|address|inbox'

/** `the mailbox`, `<user>`, `recipient's`. */
export const mailbox = `${notOurs}\\b(?:${nouns})\\S{0,3}`

/** The same after an adjective. */
export const mailboxNoun = `(?:${nouns}|local[ -]part)`

/** Up to five words between subject and predicate, none of which changes the subject. */
export const gap =
  '(?: (?!domain|host|mx\\b|server|relay|sender|client|dns|ip\\b|command|message|polic|password|credential|auth|login|access|from\\b|by\\b|but\\b|\\W?\\d{1,3}\\.\\d)\\S{1,80}){0,5}'

export const linkingVerb =
  "(?:'s| is| was| are| were| has| have| has been| have been)?(?: been| now| currently| temporarily| permanently| either)?"

export const negation =
  '(?:does|do|did|is|was|are|has) ?(?:not|n.t|no)|do[se]{1,2}n.?t|dose not|don.t|didn.t|isn.t|wasn.t'

/** The mailbox does not exist. */
export const absentWords =
  '(?:unknown|undefined|non-?exist\\w{1,4}|inexist\\w{1,4}|unrouteable|un-?recogni[sz]ed|invalid|illegal|incorrect|not (?:an? )?(?:known|found|listed|recogni[sz]ed|exist\\w{0,3}|be found|defined|registered|valid|in (?:our|the|this|my)|here\\b|on this|local\\b|hosted|deliverable))'

/** The mailbox no longer exists. */
export const goneWords =
  '(?:deleted|removed|moved|renamed|retired|no longer (?:on|valid|available|exists?|in use|here|with|used|active|monitored|registered|work\\w{0,3}|employed|known))'

/** The mailbox is not in use. */
export const inactiveWords =
  '(?:disabled|suspended|de-?activated|inactive|frozen|locked|discontinued|closed|expired|terminated|not (?:yet )?activ(?:e|ated)\\b|dormant|abandoned|on hold|(?:temporarily )?limited)'

/** One part after another, in any case. */
export function phrasePattern(...parts: readonly string[]): RegExp {
  return new RegExp(parts.join(''), 'i')
}
