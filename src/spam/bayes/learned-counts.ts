/**
 * What a workspace has taught the classifier, for the score of each of its messages.
 *
 * A message asks for some hundred words, and each is on a page that the last commit may have emptied from the reader's
 * cache. So once messages have asked for as many words as the workspace has learned, its counts are copied into
 * memory, in steps. Learning adds a row to `bayes_learned`, whose numbers only grow. Each message
 * reads the number of the newest one and the totals: the copy is used while they are those that it was made at,
 * whatever process has learned. Until there is one, words are read from the database.
 *
 * Limit: 500,000 words of all workspaces, 16 bytes each; those of the workspace that was used least recently go first.
 */
import { createLruCache } from '../../platform/lru-cache.js'
import type { Read } from '../../storage/prepared.js'
import { waitForStep } from '../../storage/stepped-walk.js'
import { CountTable } from './count-table.js'
import { countRecentlyLearned, dayOf } from './days.js'
import { type LearnedState, readLearnedState, readTokenCounts, readTokensAfter } from './records.js'
import { type BayesCounts, hasLearnedEnough, type TokenCount } from './score.js'

const MAX_WORDS = 500_000
/** What a workspace without a copy counts for, in words. */
const ENTRY_WEIGHT = 100
/** Words that one step of a copy reads. */
const LOAD_STEP = 2_000

interface KnownWorkspace {
  readonly state: LearnedState
  table: CountTable | null
  /** Words that were asked for since the state changed. */
  asked: number
  /** What was learned of the mail of the last 180 days, as seen from `day`. */
  recent: { readonly day: number; readonly count: TokenCount } | null
}

export class LearnedCounts {
  private readonly workspaces = createLruCache<KnownWorkspace>({
    max: MAX_WORDS,
    weightOf: ({ table, state }) => ENTRY_WEIGHT + (table === null ? 0 : state.words),
  })

  /** One copy is made at a time, or the memory of unfinished ones would add up. */
  private isLoading = false

  constructor(private readonly read: Read) {}

  /** Null: too little was learned for an opinion. */
  findCounts(workspaceId: string, keys: readonly number[]): BayesCounts<number> | null {
    const state = readLearnedState(this.read, workspaceId)
    if (!hasLearnedEnough(state.messages)) return null
    const known = this.workspaces.get(workspaceId)
    const current = known !== undefined && isSameState(known.state, state) ? known : this.enter(workspaceId, state)
    if (current.table !== null) return { messages: state.messages, tokens: current.table }
    current.asked += keys.length
    if (current.asked >= state.words && !this.isLoading) void this.load(workspaceId, current)
    return { messages: state.messages, tokens: readTokenCounts(this.read, workspaceId, keys) }
  }

  /** Learned messages that were received at most 180 days before `moment`. */
  countRecent(workspaceId: string, moment: number): TokenCount {
    const known = this.workspaces.get(workspaceId)
    const day = dayOf(moment)
    if (known?.recent?.day === day) return known.recent.count
    const count = countRecentlyLearned(this.read, workspaceId, moment)
    if (known !== undefined) known.recent = { day, count }
    return count
  }

  private enter(workspaceId: string, state: LearnedState): KnownWorkspace {
    const known: KnownWorkspace = { state, table: null, asked: 0, recent: null }
    this.workspaces.set(workspaceId, known)
    return known
  }

  private async load(workspaceId: string, known: KnownWorkspace): Promise<void> {
    this.isLoading = true
    known.asked = 0
    try {
      const table = await this.copyTokens(workspaceId, known.state.words)
      // Unchanged from the first step to the last one.
      const isValid = table !== null && isSameState(readLearnedState(this.read, workspaceId), known.state)
      if (isValid) this.workspaces.set(workspaceId, { ...known, table })
    } catch {
      // The database cannot be read, or is closed by now: whoever asks next will say so.
    }
    this.isLoading = false
  }

  /** Null: there are more than at the start. */
  private async copyTokens(workspaceId: string, words: number): Promise<CountTable | null> {
    const table = new CountTable(words)
    for (let after = -1; ; ) {
      const rows = readTokensAfter(this.read, { workspaceId, after, limit: LOAD_STEP })
      if (!table.append(rows)) return null
      const last = rows[LOAD_STEP - 1]
      if (last === undefined) return table
      after = last.token
      await waitForStep()
    }
  }
}

function isSameState(one: LearnedState, other: LearnedState): boolean {
  return (
    one.newest === other.newest &&
    one.words === other.words &&
    one.messages.spam === other.messages.spam &&
    one.messages.ham === other.messages.ham
  )
}
