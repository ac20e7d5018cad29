/** What a server's EHLO reply offers (RFC 5321 section 4.1.1.1), as far as we use it. */
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
  /** RFC 1870: bytes; null: not offered, or offered without a limit. */
  readonly size: number | null
  /** Takes the SIZE parameter. */
  readonly hasSize: boolean
  /** RFC 4954: mechanisms, upper case. */
  readonly auth: readonly string[]
}

/** Of a server that knows HELO alone. */
export const noCapabilities: Capabilities = parseCapabilities([])

/** `lines`: of the EHLO reply, without codes; the first one is the greeting. */
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
    size: /^[1-9]\d{0,14}$/.test(size) ? Number(size) : null,
    hasSize: offers('SIZE'),
    // `AUTH=PLAIN` beside `AUTH PLAIN` is a relic of servers that were there before the RFC.
    auth: words.filter(([first]) => first === 'AUTH').flatMap(([, ...mechanisms]) => mechanisms),
  }
}
