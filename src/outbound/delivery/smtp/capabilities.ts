/** The extensions in a server's EHLO reply (RFC 5321 section 4.1.1.1) that the client uses. */
export interface Capabilities {
  /** RFC 2920. */
  readonly pipelining: boolean
  /** RFC 3207. */
  readonly starttls: boolean
  /** RFC 6152. */
  readonly eightBitMime: boolean
  /** RFC 6531. */
  readonly smtputf8: boolean
  /** RFC 3461. */
  readonly dsn: boolean
  /** RFC 8689. */
  readonly requireTls: boolean
  /** RFC 1870: the maximum size in bytes. Null if the server does not offer SIZE, or offers it without a limit. */
  readonly size: number | null
  /** True if the server takes the SIZE parameter. */
  readonly hasSize: boolean
  /** RFC 4954: the mechanisms, in upper case. */
  readonly auth: readonly string[]
}

/** The capabilities of a server that knows only HELO. */
export const noCapabilities: Capabilities = parseCapabilities([])

/** `lines` is the EHLO reply without codes; the first line is the greeting. */
export function parseCapabilities(lines: readonly string[]): Capabilities {
  const words = lines.slice(1).map((line) => line.toUpperCase().split(/[\s=]+/))
  const parameters = (keyword: string): readonly string[] | undefined =>
    words.find(([first]) => first === keyword)?.slice(1)
  const offers = (keyword: string): boolean => parameters(keyword) !== undefined
  const size = parameters('SIZE')?.[0] ?? ''
  return {
    pipelining: offers('PIPELINING'),
    starttls: offers('STARTTLS'),
    eightBitMime: offers('8BITMIME'),
    smtputf8: offers('SMTPUTF8'),
    dsn: offers('DSN'),
    requireTls: offers('REQUIRETLS'),
    size: /^[1-9]\d{0,14}$/.test(size) ? Number(size) : null,
    hasSize: offers('SIZE'),
    // Some servers still send `AUTH=PLAIN` as well as `AUTH PLAIN`, a form from before the RFC.
    auth: words.filter(([first]) => first === 'AUTH').flatMap(([, ...mechanisms]) => mechanisms),
  }
}
