/** Checks a code that a person entered. */
import type { KeyObject } from 'node:crypto'
import type { Clock } from '../platform/clock.js'
import type { Log } from '../platform/log.js'
import type { Store } from '../storage/database.js'

/** Characters of an entered code, whatever they are. */
export const MAX_CODE_LENGTH = 20

export interface CheckRequest {
  readonly workspaceId: string
  /** As the client wrote it. */
  readonly phone: string
  readonly code: string
}

/** The answer of the interface. */
export interface CodeCheck {
  readonly valid: boolean
  readonly status: 'verified' | 'invalid' | 'expired' | 'max_attempts'
  readonly message: string
}

export interface CodeCheckerDeps extends Store {
  readonly clock: Clock
  readonly log: Log
  /** From `deriveCodeKey`. */
  readonly codeKey: KeyObject
}

/** Rejects with a Refusal: `invalid-parameter`. */
export type CodeChecker = (request: CheckRequest) => Promise<CodeCheck>
