/** Shows a wrong password or code next to its field, because the server's answer to it names no field. */
import { ApiError, asApiError } from './api-error.ts'

/** Wraps requests that ask for them again: `blameField('password', unwrap(…))`. The field of a code is `code`. */
export async function blameField<Data>(passwordField: string, request: Promise<Data>): Promise<Data> {
  try {
    return await request
  } catch (thrown) {
    const error = asApiError(thrown)
    const { message, status, code, details } = error
    if (code !== 'invalid_credentials') throw error
    const field = details['second_factor'] === true ? 'code' : passwordField
    throw new ApiError(message, { status, code, details, fields: [{ field, message }] })
  }
}
