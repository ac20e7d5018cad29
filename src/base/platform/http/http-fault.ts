/** Says why a request over HTTP has no answer, in words for a log and for the record of a delivery. */
import { errorCodeOf, errorMessageOf } from '../errors.js'

/** The message says why there is no answer; it contains no credentials and no address. */
export class HttpFault extends Error {
  override name = 'HttpFault'

  constructor(
    message: string,
    /** False if the request had no connection yet, so the server has no part of it. */
    readonly isSent = true,
  ) {
    super(message)
  }
}

const reasons: readonly (readonly [codes: RegExp, reason: string])[] = [
  [/^ECONNREFUSED$/, 'the connection was refused'],
  [/^(?:ECONNRESET|ECONNABORTED|EPIPE|UND_ERR_SOCKET)$/, 'the connection was closed before the answer was complete'],
  [/^(?:ETIMEDOUT|UND_ERR_CONNECT_TIMEOUT)$/, 'the host could not be reached in time'],
  [/^(?:EHOSTUNREACH|ENETUNREACH)$/, 'there is no route to the host'],
  [/^(?:ENOTFOUND|EAI_NODATA|EAI_NONAME)$/, 'the host does not exist'],
  [/^EAI_/, 'DNS does not answer'],
  [/^(?:HPE_|ERR_ASSERTION$)/, 'the answer is not HTTP'],
  [/^UND_ERR_HEADERS_OVERFLOW$/, 'the header of the answer is too large'],
  [/^ERR_(?:TLS|SSL)_|^EPROTO$/, 'TLS could not be negotiated, or the certificate is for another name'],
  [/CERT|^UNABLE_|^CRL_|^PATH_LENGTH|_CA$/, 'the certificate is not valid'],
]

export function toHttpFault(error: unknown, isSent: boolean): HttpFault {
  if (error instanceof HttpFault) return new HttpFault(error.message, isSent)
  const code = codeOf(error)
  const reason = reasons.find(([codes]) => codes.test(code))?.[1] ?? errorMessageOf(error)
  return new HttpFault(code === '' ? reason : `${reason} (${code})`, isSent)
}

/** undici's fault of the parser has a name, and not always a code. */
function codeOf(error: unknown): string {
  const code = errorCodeOf(error)
  return code === '' && error instanceof Error && error.name === 'HTTPParserError' ? 'HPE_INVALID' : code
}
