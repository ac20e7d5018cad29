/**
 * Finds the answer to a challenge of any daemon: in the memory of this one, or else in the database.
 *
 * Anyone may ask for tokens. A token that this daemon does not know has all answers read again, four times a second at
 * most, and all who ask meanwhile wait for the same read. So the work does not grow with the questions, and a question
 * of the ACME server is answered however many others there are.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { shareWaitingRun } from '../../base/platform/serial-runner.js'
import type { ChallengeAnswers } from './challenge-answers.js'
import type { ChallengeRows } from './challenge-rows.js'

/** Milliseconds between two reads. */
const READ_INTERVAL = 250
/** Tokens are in base64url, and have at least 128 bits (RFC 8555 section 8.3). */
const possibleToken = /^[\w-]{22,256}$/

interface SharedDeps {
  readonly own: Pick<ChallengeAnswers, 'textOf'>
  readonly rows: Pick<ChallengeRows, 'readAll'>
}

export class SharedAnswers {
  private readonly readAgain = shareWaitingRun(() => this.readPaced())
  private answers: ReadonlyMap<string, string> = new Map()
  private lastReadAt = Number.NEGATIVE_INFINITY

  constructor(private readonly deps: SharedDeps) {}

  /** Resolves to undefined if no challenge has this token. Rejects if the database cannot be read. */
  async textOf(token: string): Promise<string | undefined> {
    const known = this.deps.own.textOf(token) ?? this.answers.get(token)
    if (known !== undefined || !possibleToken.test(token)) return known
    await this.readAgain()
    return this.answers.get(token)
  }

  private async readPaced(): Promise<void> {
    const rest = this.lastReadAt + READ_INTERVAL - performance.now()
    if (rest > 0) await pause(rest)
    this.lastReadAt = performance.now()
    this.answers = await this.deps.rows.readAll()
  }
}
