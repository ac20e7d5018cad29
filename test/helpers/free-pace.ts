/** Paces that limit nothing until a reply teaches them, and nobody hears of it. */
import { PaceControl, type PaceDeps } from '../../src/outbound/delivery/shaping/pace-control.js'
import type { PaceState } from '../../src/outbound/delivery/shaping/pace-state.js'

const freeState: PaceState = {
  window: { size: Number.POSITIVE_INFINITY, ceiling: null, ceilingAt: 0 },
  messages: null,
  rate: null,
  rateRefusedAt: 0,
  pause: null,
}

export function createFreePace(deps: Partial<PaceDeps> = {}): PaceControl {
  const timer = {
    now: () => performance.now(),
    toWall: (at: number) => at,
    after: (milliseconds: number, run: () => void) => {
      const timeout = setTimeout(run, milliseconds).unref()
      return () => clearTimeout(timeout)
    },
  }
  const silent = {
    timer,
    onRoom: () => undefined,
    onRefused: () => undefined,
    onChange: () => undefined,
    onOutage: () => undefined,
  }
  return new PaceControl({ provider: 'mx.test', source: '' }, freeState, null, { ...silent, ...deps })
}

/** For a queue runner. */
export const noPaces = { find: () => undefined, findPause: () => null, onRoom: () => undefined }

/** Each workspace has an owner of its own. */
export const ownOwners = { ownerOf: (workspaceId: string): string => workspaceId }
