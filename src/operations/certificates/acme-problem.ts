/**
 * Errors of an ACME server (RFC 8555 section 6.7, RFC 9457), and what each is about: this name, the account, a rate limit
 * of the server, or the server itself.
 */
import { formatForDisplay } from '../../base/mail/address.js'
import { toPrintableText } from '../../base/mail/printable.js'
import { parseRetryAfter } from '../../base/platform/http/retry-after.js'
import { isRecord, ownValueOf } from '../../base/platform/records.js'

type ProblemSubject = 'name' | 'account' | 'rate-limit' | 'server'

const PREFIX = 'urn:ietf:params:acme:error:'
/** Characters of the server's explanation that are kept. */
const MAX_DETAIL = 500

const subjects: Readonly<Record<string, ProblemSubject>> = {
  accountDoesNotExist: 'account',
  unauthorized: 'account',
  externalAccountRequired: 'server',
  userActionRequired: 'server',
  rateLimited: 'rate-limit',
  serverInternal: 'server',
}

export class AcmeProblem extends Error {
  override name = 'AcmeProblem'

  constructor(
    /**
     * Its type without the prefix that all types of ACME have, such as `rateLimited`. Empty if the server gave none.
     */
    readonly type: string,
    detail: string,
    readonly subject: ProblemSubject,
    /** Milliseconds that the server wants the client to wait, or null if it did not say. */
    readonly retryAfter: number | null = null,
  ) {
    super(type === '' ? detail : `${type}: ${detail}`)
  }
}

interface RefusedRequest {
  readonly status: number
  /** The value of Retry-After, and the time to which it is relative. */
  readonly retryAfter: string | undefined
  readonly now: number
}

/** The problem of a request that the server refused. */
export function readRequestProblem(body: unknown, { status, retryAfter, now }: RefusedRequest): AcmeProblem {
  const { type, detail } = readDocument(body)
  const subject = subjects[type] ?? (status >= 500 || type === '' ? 'server' : 'name')
  return new AcmeProblem(type, detail || `the server answered ${status}`, subject, parseRetryAfter(retryAfter, now))
}

/** The problem of a challenge or an order: a type such as `unauthorized` is then about the name. */
export function readValidationProblem(document: unknown): AcmeProblem {
  const { type, detail } = readDocument(document)
  return new AcmeProblem(type, detail || 'the server gives no reason', 'name')
}

function readDocument(document: unknown): { readonly type: string; readonly detail: string } {
  if (!isRecord(document)) return { type: '', detail: '' }
  const [type, detail] = [ownValueOf(document, 'type'), ownValueOf(document, 'detail')]
  return {
    type: typeof type === 'string' ? formatForDisplay(type.startsWith(PREFIX) ? type.slice(PREFIX.length) : type) : '',
    detail: typeof detail === 'string' ? toPrintableText(detail.slice(0, MAX_DETAIL)) : '',
  }
}
