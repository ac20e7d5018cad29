/** The types of a pace: whose it is, what is kept on disk, and what is asked and answered for one message. */
import type { PauseKind } from './pause.js'
import type { WindowState } from './session-window.js'

export interface PaceTimer {
  readonly now: () => number
  /** A moment of this clock in epoch milliseconds. */
  readonly toWall: (at: number) => number
  /** Returns what cancels it. */
  readonly after: (milliseconds: number, run: () => void) => () => void
}

export interface Pause {
  readonly kind: PauseKind
  readonly reply: string
  readonly since: number
  readonly until: number
  /** Refused since it began. */
  readonly probes: number
}

export interface LearnedMessages {
  readonly count: number
  readonly at: number
}

/** What is kept on disk. */
export interface PaceState {
  readonly window: WindowState
  readonly messages: LearnedMessages | null
  readonly rate: number | null
  readonly rateRefusedAt: number
  readonly pause: Pause | null
}

/** Whose pace it is. */
export interface PaceId {
  /** From `provider-key.ts`. */
  readonly provider: string
  /** One of our addresses; '': the one that the system chooses. */
  readonly source: string
}

/** One message handed to one session. */
export interface Passage {
  readonly begunAt: number
  /** Messages that the session had been given before. */
  readonly sentBefore: number
}

/** `resend`: at once, over a new session. */
export type PaceVerdict =
  | { readonly kind: 'none' | 'resend' }
  /** The message may be sent again at this time, in epoch milliseconds. */
  | { readonly kind: 'retry'; readonly at: number }
