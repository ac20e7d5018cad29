/** The types of a pace: whose it is, what is stored on disk, and what is asked and answered for one message. */
import type { PauseKind } from './pause.js'
import type { WindowState } from './session-window.js'

export interface PaceTimer {
  readonly now: () => number
  /** Converts a moment of this clock to epoch milliseconds. */
  readonly toWall: (at: number) => number
  /** Runs a function later. Returns a function that cancels it. */
  readonly after: (milliseconds: number, run: () => void) => () => void
}

export interface Pause {
  readonly kind: PauseKind
  readonly reply: string
  readonly since: number
  readonly until: number
  /** The number of probes that were refused since the pause began. */
  readonly probes: number
}

export interface LearnedMessages {
  readonly count: number
  readonly at: number
}

/** The part of a pace that is stored on disk. */
export interface PaceState {
  readonly window: WindowState
  readonly messages: LearnedMessages | null
  readonly rate: number | null
  readonly rateRefusedAt: number
  readonly pause: Pause | null
}

/** The provider and the address of a pace. */
export interface PaceId {
  /** The key that `provider-key.ts` makes. */
  readonly provider: string
  /** One of our addresses. Empty for the one that the system chooses. */
  readonly source: string
}

/** One message handed to one session. */
export interface Passage {
  readonly begunAt: number
  /** The number of messages that the session had been given before. */
  readonly sentBefore: number
}

/** `resend` sends the message again at once, over a new session. */
export type PaceVerdict =
  | { readonly kind: 'none' | 'resend' }
  /** The message may be sent again at this time, in epoch milliseconds. */
  | { readonly kind: 'retry'; readonly at: number }
