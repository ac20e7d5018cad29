/**
 * Writes as PostgreSQL runs them, and its errors as rooms know them.
 *
 * The server checks how many rows a write has changed, so that a miss ends the transaction without another round trip: it
 * divides by zero.
 */
import { toError } from '../../platform/errors.js'
import { ConstraintViolated, StorageFault, type Write, WriteConflict } from '../db/write.js'
import type { RequestStatement } from './batch-plan.js'
import { ConnectionLost, ServerError, type UnsendableValue } from './server-errors.js'

const DIVISION_BY_ZERO = '22012'
/**
 * Classes of SQLSTATE (appendix A of the manual) that concern one request: values, constraints, syntax, and limits of the
 * program, such as a row that is too large for an index.
 */
const classesOfOne = ['21', '22', '23', '42', '54', 'P0']
/** A deadlock, or a conflict of transactions. */
const MADE_BY_LOCKS = '40'

/** The statement of a write. It fails if it changes another number of rows than it must. */
export function toStatement({ sql, parameters, rows, isNewRow, order = 0, turn }: Write): RequestStatement {
  const checked = rows === undefined ? sql : checkRows(sql, rows)
  return { sql: checked, parameters, isNewRow: isNewRow === true, order, turn: turn ?? null }
}

export function checkRows(sql: string, rows: number): string {
  return `with changed as (${sql} returning 1) select 1 / (count(*) = ${rows})::integer from changed`
}

export function isMiss(error: ServerError | UnsendableValue): boolean {
  return error instanceof ServerError && error.code === DIVISION_BY_ZERO
}

/** The fault is not that of one request, so the batch cannot go on without it. */
export function concernsAll(error: ServerError | UnsendableValue): boolean {
  return error instanceof ServerError && !classesOfOne.some((known) => error.code.startsWith(known))
}

export function isMadeByLocks(error: ServerError | UnsendableValue): boolean {
  return error instanceof ServerError && error.code.startsWith(MADE_BY_LOCKS)
}

/** A miss is a `WriteConflict`, and a fault of the server or the way to it is a `StorageFault`. */
export function toWriteError(error: unknown): Error {
  if (error instanceof ConnectionLost) return new StorageFault('connection', error.message)
  if (!(error instanceof ServerError)) return toError(error)
  if (isMiss(error)) return new WriteConflict('a write changed another number of rows than it must')
  if (error.code.startsWith('23')) return new ConstraintViolated(error.message, { cause: error })
  return concernsAll(error) ? new StorageFault(error.code, error.message) : error
}
