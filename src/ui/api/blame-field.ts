/** Shows an error of the server beside a field, where the code of the error names it and the server does not. */
import { ApiError, asApiError } from './api-error.ts'

/** For requests that ask for a password or code again: `blameField('password', unwrap(…))`. */
export async function blameField<Data>(field: string, request: Promise<Data>): Promise<Data> {
  try {
    return await request
  } catch (thrown) {
    const error = asApiError(thrown)
    const { message, status, code, details } = error
    if (code !== 'invalid_credentials') throw error
    throw new ApiError(message, { status, code, details, fields: [{ field, message }] })
  }
}
