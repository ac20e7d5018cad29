/**
 * The memory for messages on their way in, shared by all listeners, so that their peaks do not add
 * up; `scripts/memory` measures what the daemon holds under such a load.
 *
 * Each listener counts how often it holds a byte at worst, and has a share that leaves room for the
 * others; a message of the largest size that it takes always fits an empty share. Large messages of all
 * listeners wait in one line for what is given back.
 */
import type { Config } from '../config/complete.js'
import { createBudgetShare, createMemoryBudget, type MemoryBudget } from '../platform/memory/budget.js'

const MB = 1_048_576
const TOTAL = 120 * MB
const SHARE = 96 * MB

/** The message, and once more without header fields that are too costly to verify. */
const MX_COPIES = 2
/** The message, prepared with our fields, and on its way into the database. */
const SUBMISSION_COPIES = 3
/** The body, its text, what is decoded of it, and the message that is made of that. */
const REQUEST_COPIES = 4

export interface MessageMemory {
  readonly mx: MemoryBudget
  readonly submission: MemoryBudget
  readonly requests: MemoryBudget
}

export function createMessageMemory({ inbound, submission }: Pick<Config, 'inbound' | 'submission'>): MessageMemory {
  const shares = {
    mx: Math.max(SHARE, inbound.max_size * MX_COPIES),
    submission: Math.max(SHARE, submission.max_size * SUBMISSION_COPIES),
    requests: SHARE,
  }
  const total = createMemoryBudget(Math.max(TOTAL, ...Object.values(shares)))
  return {
    mx: createBudgetShare(total, shares.mx, MX_COPIES),
    submission: createBudgetShare(total, shares.submission, SUBMISSION_COPIES),
    requests: createBudgetShare(total, shares.requests, REQUEST_COPIES),
  }
}
