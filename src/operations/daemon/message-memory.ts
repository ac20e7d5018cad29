/**
 * The memory for incoming messages, shared by all listeners, so that their peaks do not add up; `scripts/memory`
 * measures the daemon under such a load.
 *
 * Each listener counts how many copies of a byte it holds at worst, and has a share that leaves room for the others.
 * A message of the listener's maximum size always fits an empty share, also after a reload has raised that size.
 * Large messages of all listeners wait in one queue for released memory.
 */
import type { ReadSettings } from '../../base/config/live-config.js'
import { MemoryBudget } from '../../base/platform/memory/budget.js'

const MB = 1_048_576
const TOTAL = 120 * MB
const SHARE = 96 * MB

/** The message, and a copy without the header fields that are too costly to verify. */
const MX_COPIES = 2
/** The message, and two copies while SQLite stores it: the bound parameter and the row. */
const SUBMISSION_COPIES = 3
/** The body, its text, the decoded parts, and the composed message. */
const REQUEST_COPIES = 4

export class MessageMemory {
  readonly mx: MemoryBudget
  readonly submission: MemoryBudget
  readonly requests: MemoryBudget

  /** The sizes are read each time, because a reload may change them. */
  constructor(settings: ReadSettings) {
    const mxShare = (): number => Math.max(SHARE, settings().inbound.max_size * MX_COPIES)
    const submissionShare = (): number => Math.max(SHARE, settings().submission.max_size * SUBMISSION_COPIES)
    const total = new MemoryBudget(() => Math.max(TOTAL, mxShare(), submissionShare()))
    this.mx = new MemoryBudget(mxShare, total, MX_COPIES)
    this.submission = new MemoryBudget(submissionShare, total, SUBMISSION_COPIES)
    this.requests = new MemoryBudget(SHARE, total, REQUEST_COPIES)
  }
}
