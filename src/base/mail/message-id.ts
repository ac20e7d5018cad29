/**
 * Message identifiers: RFC 5322 section 3.6.4, with the UTF-8 of RFC 6532.
 *
 * Foreign identifiers are checked leniently: printable, one `@`, angle brackets around. The dots of a dot-atom
 * are not checked, because well-known senders misplace them.
 */
const MAX_LENGTH = 500
const UUID_LENGTH = 36
const msgId = /^<[^\s<>@\p{Cc}]+@[^\s<>@\p{Cc}]+>$/u

export function createMessageId(uuid: string, host: string): string {
  return `<${uuid}@${host}>`
}

/** The UUID in a Message-ID that `createMessageId` may have made for this host, or null. */
export function readOwnMessageId(text: string, host: string): string | null {
  const id = text.slice(1, 1 + UUID_LENGTH)
  return text === createMessageId(id, host) && id.length === UUID_LENGTH ? id : null
}

export function isMessageId(text: string): boolean {
  return text.length <= MAX_LENGTH && msgId.test(text)
}
