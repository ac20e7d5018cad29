/**
 * Checks a code that a person entered.
 *
 * It commits a change only if the record is as it was read. Otherwise it decides the check again. So if two correct
 * checks arrive at the same moment, one verifies, and two wrong checks count two.
 */
import type { KeyObject } from 'node:crypto'
import { assertNever } from '../../base/mail/assert-never.js'
import { Refusal } from '../../base/mail/refusal.js'
import type { Clock } from '../../base/platform/clock.js'
import type { Log } from '../../base/platform/log.js'
import type { Store } from '../../base/storage/db/database.js'
import { tryCommit, type Write } from '../../base/storage/db/write.js'
import { countWrongCode, endCode, findCodeToCheck, markCodeVerified } from './check-records.js'
import { isCode } from './code-hash.js'
import { type CheckDecision, type CodeCheck, decideCheck } from './decide-check.js'
import { normalizeNumber } from './judge-number.js'
import { recordSmsVerified } from './sms-events.js'
import type { CodeRow } from './sms-records.js'

/** Characters of an entered code. A longer text is refused, and any other text that is not the code is a wrong code. */
export const MAX_CODE_LENGTH = 20
/**
 * A code changes five times at most, so that many checks of it at the same moment can make another one decide again.
 */
const MAX_DECISIONS = 20

interface CheckRequest {
  readonly workspaceId: string
  /** The phone as the client wrote it. */
  readonly phone: string
  readonly code: string
}

export interface CodeCheckerDeps extends Store {
  readonly clock: Clock
  readonly log: Log
  /** The key that `deriveCodeKey` returns. */
  readonly codeKey: KeyObject
  /** False while no provider is configured, so that every check is refused. */
  readonly isConfigured: boolean
  readonly onCheck?: ((status: CodeCheck['status']) => void) | undefined
}

export class CodeChecker {
  constructor(private readonly deps: CodeCheckerDeps) {}

  /** Rejects with a Refusal: `invalid-parameter`, `unavailable`. */
  async check({ workspaceId, phone, code }: CheckRequest): Promise<CodeCheck> {
    const { read, commit, clock, log, codeKey, isConfigured, onCheck } = this.deps
    if (!isConfigured) throw new Refusal('unavailable', 'no SMS provider is configured')
    const ref = { workspaceId, phone: normalizeNumber(phone) }
    if (code.length === 0 || code.length > MAX_CODE_LENGTH) throw buildLengthRefusal()
    for (let decision = 0; decision < MAX_DECISIONS; decision++) {
      const row = await findCodeToCheck(read, ref)
      const now = clock()
      const { change, answer } = decideCheck(row, () => row !== undefined && isCode(codeKey, row, code), now)
      const writes = row === undefined ? [] : buildWrites(change, row, now)
      if (writes.length > 0 && !(await tryCommit(commit(writes)))) continue
      log.debug({ sms_id: row?.id ?? null, workspace_id: workspaceId, status: answer.status }, 'code checked')
      onCheck?.(answer.status)
      return answer
    }
    throw new Refusal('unavailable', 'too many checks of this phone at the same moment')
  }
}

/** The message does not repeat the value, because it may be a code with a slip of the keyboard. */
function buildLengthRefusal(): Refusal {
  const message = `code: must have 1 to ${MAX_CODE_LENGTH} characters`
  return new Refusal('invalid-parameter', message, { field: 'code', value: null })
}

function buildWrites(change: CheckDecision['change'], row: CodeRow, now: number): readonly Write[] {
  const ref = { id: row.id, workspaceId: row.workspace_id, attempts: row.attempts }
  switch (change) {
    case 'none':
      return []
    case 'count':
      return [countWrongCode(ref)]
    case 'expire':
      return [endCode({ ...ref, status: 'expired' })]
    case 'use-up':
      return [endCode({ ...ref, status: 'max_attempts' })]
    case 'verify':
      return [markCodeVerified({ ...ref, at: now }), recordSmsVerified(row, now)]
    default:
      return assertNever(change)
  }
}
