/** Numbers of the DNS protocol (RFC 1035, RFC 3596, RFC 5936, RFC 6698, RFC 6891, RFC 6895, RFC 8659). */

export const HEADER_SIZE = 12

/** Octets of a UDP message that a path without fragments carries (DNS flag day 2020). */
export const MAX_UDP_PAYLOAD = 1232

/** The Internet, the one class in use. */
export const CLASS_IN = 1

export const recordTypes = {
  A: 1,
  NS: 2,
  CNAME: 5,
  SOA: 6,
  PTR: 12,
  MX: 15,
  TXT: 16,
  AAAA: 28,
  OPT: 41,
  TLSA: 52,
  IXFR: 251,
  AXFR: 252,
  ANY: 255,
  CAA: 257,
} as const

/** BADVERS needs the eight further bits of an OPT record; all others fit the header's four. */
export const responseCodes = {
  NOERROR: 0,
  FORMERR: 1,
  SERVFAIL: 2,
  NXDOMAIN: 3,
  NOTIMP: 4,
  REFUSED: 5,
  BADVERS: 16,
} as const
export type ResponseCode = keyof typeof responseCodes

const codeNames = new Map<number, string>(Object.entries(responseCodes).map(([name, code]) => [code, name]))

/** `RCODE9` for a number without a name here. */
export function responseCodeName(code: number): string {
  return codeNames.get(code) ?? `RCODE${code}`
}
