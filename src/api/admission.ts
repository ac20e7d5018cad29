/**
 * Who asks, and may they ask now? The key first, then the rate of its workspace.
 *
 * Without a valid key the request counts against its client address; once that has no
 * room left, it is told 429 instead of what is wrong with its key. A valid key is never
 * refused for what others at its address do.
 */
import type { Context } from 'koa'
import { limitKey } from '../accounts/client-address.js'
import type { KeyRing } from '../accounts/key-ring.js'
import type { Principal } from '../accounts/principal.js'
import { type RateLimit, type RateState, tooFast } from '../accounts/rate-limit.js'
import { Refusal } from '../mail/refusal.js'
import type { Clock } from '../platform/clock.js'
import { bearerKey } from './bearer-key.js'

export interface AdmissionDeps {
  readonly keyRing: Pick<KeyRing, 'admit'>
  /** By workspace id. */
  readonly requests: RateLimit
  /** By client address. */
  readonly clients: RateLimit
  readonly remoteAddress: (ctx: Context) => string
  readonly clock: Clock
}

export interface Admission {
  /** Whose key the request bears. Counts the request; throws a Refusal where it may not go on. */
  readonly admit: (ctx: Context) => Principal
  /** What the request counted against; where it was not counted, the state of its client address. */
  readonly rate: (ctx: Context) => RateState
}

export function admission({ keyRing, requests, clients, remoteAddress, clock }: AdmissionDeps): Admission {
  const counted = new WeakMap<Context, RateState>()
  const client = (ctx: Context): string => limitKey(remoteAddress(ctx))

  function count(ctx: Context, limit: RateLimit, key: string): void {
    const state = limit.take(key, clock())
    counted.set(ctx, state)
    if (!state.allowed) throw tooFast(state)
  }

  return {
    admit: (ctx) => {
      let principal: Principal
      try {
        principal = keyRing.admit(bearerKey(ctx.get('authorization')), remoteAddress(ctx))
      } catch (error) {
        if (error instanceof Refusal) count(ctx, clients, client(ctx))
        throw error
      }
      count(ctx, requests, principal.workspaceId)
      return principal
    },
    rate: (ctx) => counted.get(ctx) ?? clients.look(client(ctx), clock()),
  }
}
