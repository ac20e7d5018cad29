/**
 * The reasons why a recipient was deferred, refused or given up: a closed list of machine words, each with one sentence
 * for logs, `posthorn explain` and DSNs. The words are also the `bounce_subtype` of the API: renaming one breaks
 * clients.
 */
const sentences = {
  'bad-mailbox': 'The mailbox does not exist.',
  'mailbox-disabled': 'The mailbox exists but is disabled or no longer used.',
  'mailbox-full': 'The mailbox is full.',
  'bad-domain': 'The domain does not exist or accepts no mail.',
  'null-mx': 'The domain declares that it accepts no mail (null MX).',
  'private-address': 'The mail hosts of the domain have private addresses, to which we do not connect.',
  policy: 'The receiving side refuses the message because of one of its own rules.',
  'spam-block': 'The receiving side blocks our address or domain because of a blocklist or a bad reputation.',
  'spam-content': 'The receiving side considers the message spam.',
  content: 'The receiving side refuses the content, such as a virus, an attachment or a malformed message.',
  'too-large': 'The message is larger than the receiving side allows.',
  authentication: 'The message failed SPF, DKIM or DMARC at the receiving side.',
  'reverse-dns': 'The receiving side requires a reverse DNS name or an EHLO name that matches our address.',
  greylisted: 'The receiving side asks unknown senders to try again later (greylisting).',
  'rate-limited': 'The receiving side limits how much mail it accepts from us or for this mailbox.',
  'relay-denied': 'The server is not responsible for the domain and does not relay for us.',
  'sender-rejected': 'The receiving side refuses the sender address.',
  credentials: 'The smarthost refuses our login or requires one.',
  'smtputf8-unsupported': 'The address needs SMTPUTF8, which the receiving side does not offer.',
  'routing-loop': 'The message is in a mail loop at the receiving side.',
  'remote-error': 'The receiving side has a fault.',
  protocol: 'The two servers did not understand each other.',
  'connection-refused': 'The server refuses connections.',
  'connection-lost': 'The server closed the connection too early.',
  unreachable: 'The server cannot be reached over the network.',
  timeout: 'The server did not answer in time.',
  tls: 'The two servers could not set up an encrypted connection.',
  dns: 'DNS gave no answer.',
  'warming-up':
    'Our address or domain is new to the receiving side and has reached its limit for today, so the message waits.',
  'local-error': 'Our own server had a fault, which its log describes.',
  expired: 'Every attempt failed, and the message is now too old for another.',
  operator: 'The operator removed the message from the queue.',
  'domain-deleted': 'The sending domain was deleted while the message waited.',
  unclassified: 'The receiving side gave an answer that we cannot classify.',
} as const satisfies Readonly<Record<string, string>>

export type Reason = keyof typeof sentences

function isReason(word: string): word is Reason {
  return word in sentences
}

/** Every reason, in the order of the table. */
export const reasons = Object.keys(sentences).filter(isReason)

/** What a sender can do where an outcome is final. Other reasons leave nothing to do but to wait or to read the reply. */
const advice: Readonly<Partial<Record<Reason, string>>> = {
  'bad-mailbox': 'Ask the recipient for the right address.',
  'mailbox-disabled': 'Ask the recipient for another address.',
  'mailbox-full': 'Send it again later, or ask the recipient for another address.',
  'bad-domain': 'Check the spelling of the domain.',
  'null-mx': 'Ask the recipient for another address.',
  'spam-block': "Read the reply for a link to the block list, and check the sender's address and domain there.",
  'spam-content': 'Change the text and the links of the message, and check that the recipient has asked for it.',
  content: 'Send it without the attachment or the part that the reply names.',
  'too-large': 'Send a link in place of the attachment.',
  authentication: 'Check the records of the sending domain.',
  'reverse-dns': 'The operator of this service has to set the reverse DNS name of its address.',
  'sender-rejected': 'Check the sender address and its domain.',
  'domain-deleted': 'Add the domain again, and send the message again.',
}

/** One English sentence that says what to do about a final outcome. Null if there is nothing to say. */
export function adviseOn(reason: Reason): string | null {
  return advice[reason] ?? null
}

/** One English sentence for people. */
export function describeReason(reason: Reason): string {
  return sentences[reason]
}
