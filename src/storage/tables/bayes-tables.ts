/**
 * The shapes of the tables of the spam classifier. Part of `tables.ts`, which says what holds for
 * all of them; `spam/bayes/records.ts` says how they are kept.
 */
import type { Generated } from 'kysely'

export type BayesVerdict = 'spam' | 'ham'

export interface BayesTokensTable {
  workspace_id: string
  /** 48 bits of a hash of the token. */
  token: number
  /** In how many learned messages of each kind it was. */
  spam: number
  ham: number
  /** `seq` of the message that brought it: those learned before are not in its counts. */
  since: number
  /** Day, counted from 1970. */
  last_learned: number
}

/** How many tokens a workspace has: kept by triggers on `bayes_tokens`. */
export interface BayesCountsTable {
  workspace_id: string
  tokens: number
}

export interface BayesMessagesTable {
  workspace_id: string
  verdict: BayesVerdict
  count: number
}

export interface BayesDaysTable {
  workspace_id: string
  /** Counted from 1970: the day that the mail came. */
  day: number
  /** Messages of that day that were learned. */
  spam: number
  ham: number
}

export interface BayesLearnedTable {
  seq: Generated<number>
  workspace_id: string
  fingerprint: string
  verdict: BayesVerdict
  /** The tokens that were counted, six bytes each. */
  tokens: Buffer
  learned_at: number
  /** Day that it counts on in `bayes_days`; 0: it has no date. */
  dated_on: number
}
