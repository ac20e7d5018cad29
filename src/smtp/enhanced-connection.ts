/**
 * An SMTP connection whose every reply bears exactly one enhanced status code: ours where
 * we gave one, smtp-server's where that is right, a better one where it is not.
 *
 * smtp-server derives the code from the reply code alone and writes it before the text
 * (RFC 2034), so `550` is always `5.1.1` and a code in our own text would be a second one.
 * `send` is the only place of smtp-server that writes, so this is the only place to see to it.
 *
 * Greeting, EHLO and intermediate replies bear none (RFC 2034 section 4).
 */
import { SMTPConnection } from 'smtp-server/lib/smtp-connection.js'

/** smtp-server's own words whose generic status is misleading: 421 is not always a timeout. */
const statusOfText: ReadonlyMap<string, string> = new Map([
  ['Error: Command line too long', '4.7.0'],
  ['Error: too many unrecognized commands', '4.7.0'],
  ['HTTP requests not allowed', '4.7.0'],
  ['Server shutting down', '4.3.2'],
  ['Try to send something. No promises though', '2.0.0'],
  ['Authentication aborted', '5.7.0'],
  ['Error: invalid userdata', '5.5.2'],
])

const statusPattern = /^([245])\.\d{1,3}\.\d{1,3} /

/** The text with the status that it must bear, or as it is where smtp-server's generic one is right. */
export function withStatus(text: string): string {
  const better = statusOfText.get(text)
  return better === undefined ? text : `${better} ${text}`
}

export function hasStatus(code: number, text: string): boolean {
  return statusPattern.exec(text)?.[1] === String(code)[0]
}

export class EnhancedConnection extends SMTPConnection {
  override send(code: number, data?: string | string[] | null, context?: string | false): void {
    if (typeof data !== 'string') {
      super.send(code, data, context)
      return
    }
    const text = withStatus(data)
    super.send(code, text, hasStatus(code, text) ? false : context)
  }
}
