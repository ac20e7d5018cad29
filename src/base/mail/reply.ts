/**
 * The reply of an SMTP server: code, enhanced status code, text.
 *
 * RFC 5321 section 4.2 (codes, continuation lines), RFC 2034 (enhanced codes).
 * `text` has its lines joined by one space, without codes, at most 2 KB.
 */
export interface Reply {
  /** Three digits, 200 to 599. */
  readonly code: number
  /** For example `5.1.1`. Null if the server gave none. */
  readonly enhanced: string | null
  readonly text: string
}

/** The point of the dialogue at which a reply or failure came. `message` is the reply to the final dot. */
export type Stage = 'connect' | 'banner' | 'ehlo' | 'starttls' | 'auth' | 'mail' | 'rcpt' | 'data' | 'message'

/** Bytes of a reply's text that are stored. */
export const MAX_REPLY_TEXT = 2048

/** The reply as one line, such as `550 5.1.1 no such user`. */
export function formatReply({ code, enhanced, text }: Reply): string {
  return [code, enhanced, text].filter((part) => part !== null && part !== '').join(' ')
}
