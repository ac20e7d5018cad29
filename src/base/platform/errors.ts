/** Reads what may be known of a caught value: anything can be thrown, and Node.js declares no codes. */

/** The code of a fault of the system or of Node.js, such as `ENOENT`, or empty if it has none. */
export function errorCodeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''
}

/** A fault of what the program stands on. Its message says all: where in the program it was met does not matter. */
export class PlainFault extends Error {}

export function errorMessageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

export function toError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error))
}
