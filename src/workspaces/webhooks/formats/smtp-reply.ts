/** The codes in the reply of a server, as other services state them apart. */

interface ReplyCodes {
  /** The code of RFC 5321, or null if the text is no reply. */
  readonly code: number | null
  /** The status of RFC 3463, or null. */
  readonly status: string | null
}

const pattern = /^([245]\d\d)(?:[ -]([245]\.\d{1,3}\.\d{1,3})(?![\d.]))?/

export function readReplyCodes(text: string): ReplyCodes {
  const [, code, status] = pattern.exec(text) ?? []
  return { code: code === undefined ? null : Number(code), status: status ?? null }
}
