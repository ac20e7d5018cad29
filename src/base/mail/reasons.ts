/**
 * The reasons why a recipient was deferred, refused or given up: a closed list of machine words, each with one sentence
 * for logs, `posthorn explain` and DSNs. The words are also the `bounce_subtype` of the API: renaming one breaks
 * clients.
 */
const sentences = {
  'bad-mailbox': 'The mailbox does not exist.',
  'mailbox-disabled': 'The mailbox exists but is disabled or no longer used.',
  'mailbox-full': 'The mailbox is full.',
  'bad-domain': 'The domain does not exist or takes no mail.',
  'null-mx': 'The domain declares that it accepts no mail (null MX).',
  'private-address': 'The mail hosts of the domain point at private addresses, which we do not dial.',
  policy: 'The receiving side refuses the message by its own rule.',
  'spam-block': 'The receiving side blocks our address or domain: blocklist or reputation.',
  'spam-content': 'The receiving side took the message for spam.',
  content: 'The receiving side refuses the content: virus, attachment or malformed message.',
  'too-large': 'The message is larger than the receiving side allows.',
  authentication: 'The message failed SPF, DKIM or DMARC at the receiving side.',
  'reverse-dns': 'The receiving side wants a matching reverse DNS entry or EHLO name of our address.',
  greylisted: 'The receiving side asks unknown senders to come back later (greylisting).',
  'rate-limited': 'The receiving side limits how much it takes from us or for this mailbox.',
  'relay-denied': 'The server is not responsible for the domain and does not relay for us.',
  'sender-rejected': 'The receiving side refuses the sender address.',
  credentials: 'The smarthost refuses our login or asks for one.',
  'smtputf8-unsupported': 'The address needs SMTPUTF8, which the receiving side does not offer.',
  'routing-loop': 'The message is in a mail loop at the receiving side.',
  'remote-error': 'The receiving side has a fault.',
  protocol: 'The two servers did not understand each other.',
  'connection-refused': 'The server refuses connections.',
  'connection-lost': 'The server closed the connection too early.',
  unreachable: 'The server cannot be reached over the network.',
  timeout: 'The server did not answer in time.',
  tls: 'No encrypted connection could be agreed.',
  dns: 'DNS gave no answer.',
  'warming-up': 'Our address or domain is new there and has sent what it may today; the rest waits.',
  'local-error': 'Our own server had a fault; its log says more.',
  expired: 'Every attempt failed until the message was too old.',
  operator: 'The operator removed the message from the queue.',
  'domain-deleted': 'The sending domain was deleted while the message waited.',
  unclassified: 'The receiving side gave an answer that we cannot place.',
} as const satisfies Readonly<Record<string, string>>

export type Reason = keyof typeof sentences

function isReason(word: string): word is Reason {
  return word in sentences
}

/** Every reason, in the order of the table. */
export const reasons = Object.keys(sentences).filter(isReason)

/** One English sentence for people. */
export function describeReason(reason: Reason): string {
  return sentences[reason]
}
