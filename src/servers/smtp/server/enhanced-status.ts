/**
 * Gives each reply exactly one enhanced status code (RFC 2034): ours where we gave one,
 * smtp-server's where that is right, a better one where it is not.
 *
 * smtp-server derives the status from the reply code alone and writes it before the text, so `550`
 * is always `5.1.1`, and a status in our own text would be a second one. Greeting, EHLO and
 * intermediate replies have none (RFC 2034 section 4).
 */

/** smtp-server's texts whose generic status is misleading: 421 is not always a timeout. */
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

/** The text with its status, or unchanged where smtp-server's generic one is right. */
export function withStatus(text: string): string {
  const better = statusOfText.get(text)
  return better === undefined ? text : `${better} ${text}`
}

export function hasStatus(code: number, text: string): boolean {
  return statusPattern.exec(text)?.[1] === String(code)[0]
}
