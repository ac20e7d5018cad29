/** A refused or failed request, as pages show it. */

export interface FieldError {
  /** The name of the field in the request: `domain`, `allowed_networks[0]`. */
  readonly field: string
  readonly message: string
}

interface ErrorFields {
  /** The HTTP status. It is 0 if no answer came. */
  readonly status: number
  readonly code: string
  readonly fields?: readonly FieldError[]
  readonly details?: Readonly<Record<string, unknown>>
}

export class ApiError extends Error {
  readonly status: number
  readonly code: string
  readonly fields: readonly FieldError[]
  readonly details: Readonly<Record<string, unknown>>

  constructor(message: string, { status, code, fields = [], details = {} }: ErrorFields) {
    super(message)
    this.status = status
    this.code = code
    this.fields = fields
    this.details = details
  }
}

/** Reads the body of an answer. Anything but the interface's form of errors gives the status alone. */
export function toApiError(status: number, body: unknown): ApiError {
  const error = readRecord(readRecord(body)['error'])
  const { code, message } = error
  if (typeof code !== 'string' || typeof message !== 'string') {
    return new ApiError(`The server answered with status ${status}.`, { status, code: 'unknown' })
  }
  const details = readRecord(error['details'])
  return new ApiError(toSentence(message), { status, code, details, fields: readFields(details['errors']) })
}

export function toNetworkError(): ApiError {
  return new ApiError('The server does not answer. Check the connection and try again.', { status: 0, code: 'network' })
}

/** Makes the error of a field that the page itself has found. Nothing was sent. */
export function toFieldError(field: string, message: string): ApiError {
  return new ApiError(message, { status: 0, code: 'invalid_field', fields: [{ field, message }] })
}

/** Turns anything thrown into an error that pages can show. */
export function asApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error
  const message = error instanceof Error ? error.message : String(error)
  return new ApiError(message, { status: 0, code: 'unexpected' })
}

function readFields(errors: unknown): readonly FieldError[] {
  if (!Array.isArray(errors)) return []
  return errors.map(readRecord).flatMap(({ field, message }) => {
    return typeof field === 'string' && typeof message === 'string' ? [{ field, message: toSentence(message) }] : []
  })
}

function readRecord(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? Object.fromEntries(Object.entries(value)) : {}
}

/** Leaves an address or the name of a domain at the beginning of a message as it is. */
function toSentence(message: string): string {
  const [first = ''] = message.split(' ', 1)
  const text = /[.@]./.test(first) ? message : message.charAt(0).toUpperCase() + message.slice(1)
  return text.endsWith('.') || text.endsWith('?') ? text : `${text}.`
}
