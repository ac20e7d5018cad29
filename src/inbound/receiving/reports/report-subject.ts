/**
 * Reads what the subject of a report says itself. Most reports quote the subject of the message, whose words ("Your
 * order has been received") say nothing about its delivery. Some have no other subject, so a success needs the text
 * too.
 */
import { bounceSubject, delaySubject, successSubject } from './prose-patterns.js'

/** Prefixes of replies and automatic answers. The text after them is a quotation. */
const replyPrefix =
  /^\W{0,8}(re|aw|sv|antw|odp|ответ|res|auto(matic|mated)?[ -]?(reply|response|antwort)|out of office)\b/i
/** Prefixes of forwards, and tags of lists and filters. */
const forwardPrefix = /^(\s{0,8}(\[[^\]]{0,80}\]|(fwd?|wg|tr|i|rv|vs)\s?:))+/i
const quotedWords = /"[^"]{1,300}"|“[^”]{1,300}”|«[^»]{1,300}»|„[^“”]{1,300}[“”]|(?<!\w)'[^']{1,300}'(?!\w)/g
const deniedSuccess =
  /\b(not|never|cannot|no|nicht|un(able|til)|fail(s|ed|ure)?|\w{1,8}n['’]t)\b.{0,60}\b(success(ful(ly)?)?|relayed|delivered|received)\b/i
const failureWords = /undeliver|\bfail|\berror|\breject|\bbounc|\breturned\b/i
const textOfSuccess =
  /\b(success(ful(ly)?)?|delivered|relayed|deliver(y|ies)\b.{0,80}\b(is|was|are) complete|received)\b/i
const textOfFailure =
  /undeliver|\b(did|do|does) ?n.t reach|\b(did|do|does|has|have) not (been )?reach|\b(could|can) ?n[o'’]t\b|\bunable to\b|\bfailed\b|\brejected\b/i

/**
 * The subject without the parts that it quotes. `reported` is the subject of the message, if the report contains it.
 */
export function ownWordsOf(subject: string, reported: string): string {
  const unforwarded = subject.replace(forwardPrefix, (tags) => (bounceSubject.test(tags) ? tags : ''))
  const plain = unforwarded.replace(quotedWords, ' ')
  const quoted = reported.trim()
  const rest = quoted === '' ? plain : plain.split(quoted).join(' ')
  const colon = rest.indexOf(':')
  if (colon === -1) return rest
  const before = rest.slice(0, colon)
  const decides = [bounceSubject, delaySubject, successSubject, replyPrefix].some((pattern) => pattern.test(before))
  return decides ? before : rest
}

/** `words` comes from `ownWordsOf`. */
export function reportsSuccess(words: string): boolean {
  return successSubject.test(words) && !deniedSuccess.test(words) && !failureWords.test(words)
}

/** What the text of a report says of a success that its subject reports. `flat` has no line ends. */
export function confirmsSuccess(flat: string): 'yes' | 'denies' | 'no' {
  if (deniedSuccess.test(flat) || textOfFailure.test(flat)) return 'denies'
  return textOfSuccess.test(flat) ? 'yes' : 'no'
}
