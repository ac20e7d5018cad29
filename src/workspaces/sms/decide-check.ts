/** Decides what a check of a code changes and answers, from the record of the code. */
import { assertNever } from '../../base/mail/assert-never.js'
import type { CodeRow } from './sms-records.js'

/** Wrong codes that count. Every later check is refused. */
const MAX_ATTEMPTS = 3

/** The answer of the interface. */
export interface CodeCheck {
  readonly valid: boolean
  readonly status: 'verified' | 'invalid' | 'expired' | 'max_attempts'
  readonly message: string
}

export interface CheckDecision {
  /** How the record changes. */
  readonly change: 'none' | 'verify' | 'count' | 'expire' | 'use-up'
  readonly answer: CodeCheck
}

const VERIFIED: CodeCheck = { valid: true, status: 'verified', message: 'the code is correct' }
const NOTHING_PENDING: CodeCheck = { valid: false, status: 'invalid', message: 'no code is pending for this phone' }
const EXPIRED: CodeCheck = { valid: false, status: 'expired', message: 'the code has expired: send a new one' }
const USED_UP: CodeCheck = {
  valid: false,
  status: 'max_attempts',
  message: `${MAX_ATTEMPTS} wrong codes were entered: send a new one`,
}

/**
 * `row` is undefined if no code of this phone was ever valid. `isCorrect` is called only if the answer depends on
 * it.
 */
export function decideCheck(
  row: Pick<CodeRow, 'status' | 'attempts' | 'expires_at'> | undefined,
  isCorrect: () => boolean,
  now: number,
): CheckDecision {
  if (row === undefined) return { change: 'none', answer: NOTHING_PENDING }
  switch (row.status) {
    case 'pending':
      return decidePending(row, isCorrect, now)
    case 'max_attempts':
      return { change: 'none', answer: USED_UP }
    case 'expired':
      return { change: 'none', answer: EXPIRED }
    case 'verified':
    case 'replaced':
    case 'sending':
    case 'void':
      return { change: 'none', answer: NOTHING_PENDING }
    default:
      return assertNever(row.status)
  }
}

function decidePending(
  { attempts, expires_at }: Pick<CodeRow, 'attempts' | 'expires_at'>,
  isCorrect: () => boolean,
  now: number,
): CheckDecision {
  if (attempts >= MAX_ATTEMPTS) return { change: 'use-up', answer: USED_UP }
  if (now >= expires_at) return { change: 'expire', answer: EXPIRED }
  if (isCorrect()) return { change: 'verify', answer: VERIFIED }
  const message = `the code is wrong: ${formatAttempts(MAX_ATTEMPTS - attempts - 1)}`
  return { change: 'count', answer: { valid: false, status: 'invalid', message } }
}

function formatAttempts(left: number): string {
  if (left === 0) return 'no attempt is left'
  return left === 1 ? '1 attempt is left' : `${left} attempts are left`
}
