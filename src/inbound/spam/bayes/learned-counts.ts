/**
 * Keeps what a workspace has taught the classifier, for the score of each of its messages.
 *
 * A message asks for some hundred words, and each is on a page that the last commit may have emptied from the reader's
 * cache. Once messages have asked for as many words as the workspace has learned, their probabilities are copied into
 * memory, in steps. Learning adds a row to `bayes_learned`, whose numbers only grow. The number of the newest one and
 * the totals are read four times a second at most: the copy is used while they are those that it was made at, whatever
 * process has learned. Until there is a copy, words are read from the database.
 *
 * Limit: 500,000 words of all workspaces, some 20 bytes each; the words of the workspace that was used least recently
 * are removed first.
 */
import type { Clock } from '../../../base/platform/clock.js'
import { createLruCache } from '../../../base/platform/lru-cache.js'
import { SharedLoads } from '../../../base/platform/shared-loads.js'
import { dayOf } from '../../../base/platform/time-units.js'
import type { Read } from '../../../base/storage/db/prepared.js'
import { waitForStep } from '../../../base/storage/db/stepped-walk.js'
import { countRecentlyLearned } from './days.js'
import { ProbabilityTable } from './probability-table.js'
import { type LearnedState, readLearnedState, readTokenCounts, readTokensAfter } from './records.js'
import { computeDecisiveProbability, hasLearnedEnough, type TokenCount } from './score.js'

const MAX_WORDS = 500_000
/** Words that a workspace without a copy counts as. */
const ENTRY_WEIGHT = 100
/** Words that one step of a copy reads. */
const LOAD_STEP = 2_000
/** Milliseconds for which a state that was read holds. */
const STATE_AGE = 250

interface KnownWorkspace {
  readonly state: LearnedState
  /** When the state was last read and was still this one. */
  readAt: number
  table: ProbabilityTable | null
  /** Words that were asked for since the state changed. */
  asked: number
  /** Counts what was learned of the mail of the last 180 days, as seen from `day`. */
  recent: { readonly day: number; readonly count: TokenCount } | null
}

export class LearnedCounts {
  private readonly workspaces = createLruCache<KnownWorkspace>({
    max: MAX_WORDS,
    weightOf: ({ table, state }) => ENTRY_WEIGHT + (table === null ? 0 : state.words),
  })

  private readonly readings = new SharedLoads<KnownWorkspace>()
  /** One copy is made at a time, or the memory of unfinished ones would add up. */
  private isLoading = false

  constructor(
    private readonly read: Read,
    private readonly clock: Clock,
  ) {}

  /** The decisive probabilities of distinct tokens, in the order of their keys. Null: too little was learned for an opinion. */
  async findProbabilities(workspaceId: string, keys: readonly number[]): Promise<readonly number[] | null> {
    const known = await this.findWorkspace(workspaceId)
    const { state, table } = known
    if (!hasLearnedEnough(state.messages)) return null
    if (table !== null) return listProbabilities(table, keys)
    known.asked += keys.length
    const isDue = known.asked >= state.words && !this.isLoading
    // A copy may have taken its place in the cache since it was found.
    if (isDue && this.workspaces.get(workspaceId) === known) void this.load(workspaceId, known)
    return readProbabilities(this.read, workspaceId, keys, state.messages)
  }

  /** Learned messages that were received at most 180 days before `moment`. */
  async countRecent(workspaceId: string, moment: number): Promise<TokenCount> {
    const known = this.workspaces.get(workspaceId)
    const day = dayOf(moment)
    if (known?.recent?.day === day) return known.recent.count
    const count = await countRecentlyLearned(this.read, workspaceId, moment)
    if (known !== undefined) known.recent = { day, count }
    return count
  }

  private findWorkspace(workspaceId: string): KnownWorkspace | Promise<KnownWorkspace> {
    const known = this.workspaces.get(workspaceId)
    const age = known === undefined ? -1 : this.clock() - known.readAt
    if (known !== undefined && age >= 0 && age < STATE_AGE) return known
    return this.readings.join(workspaceId, () => this.readWorkspace(workspaceId))
  }

  private async readWorkspace(workspaceId: string): Promise<KnownWorkspace> {
    const now = this.clock()
    const state = await readLearnedState(this.read, workspaceId)
    // A copy may have been made in the meantime.
    const known = this.workspaces.get(workspaceId)
    if (known !== undefined && isSameState(known.state, state)) {
      known.readAt = now
      return known
    }
    const entered: KnownWorkspace = { state, readAt: now, table: null, asked: 0, recent: null }
    this.workspaces.set(workspaceId, entered)
    return entered
  }

  private async load(workspaceId: string, known: KnownWorkspace): Promise<void> {
    this.isLoading = true
    known.asked = 0
    try {
      const table = await this.copyTokens(workspaceId, known.state)
      // Unchanged from the first step to the last one.
      const isValid = table !== null && isSameState(await readLearnedState(this.read, workspaceId), known.state)
      const present = this.workspaces.get(workspaceId) ?? known
      if (isValid && isSameState(present.state, known.state)) this.workspaces.set(workspaceId, { ...present, table })
    } catch {
      // The database cannot be read, or is closed by now. The next caller will report it.
    }
    this.isLoading = false
  }

  /** Null if there are more than at the start. */
  private async copyTokens(workspaceId: string, { words, messages }: LearnedState): Promise<ProbabilityTable | null> {
    const table = new ProbabilityTable(words, messages)
    for (let after = -1; ; ) {
      const rows = await readTokensAfter(this.read, { workspaceId, after, limit: LOAD_STEP })
      if (!table.append(rows)) return null
      const last = rows[LOAD_STEP - 1]
      if (last === undefined) return table
      after = last.token
      await waitForStep()
    }
  }
}

function listProbabilities(table: ProbabilityTable, keys: readonly number[]): readonly number[] {
  const found: number[] = []
  for (const key of keys) {
    const probability = table.get(key)
    if (probability !== 0) found.push(probability)
  }
  return found
}

async function readProbabilities(
  read: Read,
  workspaceId: string,
  keys: readonly number[],
  messages: TokenCount,
): Promise<readonly number[]> {
  const counts = await readTokenCounts(read, workspaceId, keys)
  return keys.flatMap((key) => {
    const count = counts.get(key)
    const probability = count === undefined ? null : computeDecisiveProbability(count, messages)
    return probability === null ? [] : [probability]
  })
}

function isSameState(one: LearnedState, other: LearnedState): boolean {
  return (
    one.newest === other.newest &&
    one.words === other.words &&
    one.messages.spam === other.messages.spam &&
    one.messages.ham === other.messages.ham
  )
}
