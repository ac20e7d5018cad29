/**
 * So many at once for each key, first come first served; but no party takes them all.
 *
 * One permit of each key is out of reach for whoever holds all the others: a party with
 * 50,000 messages to a slow host leaves room for another's one. A key of one permit has
 * nothing to keep back.
 *
 * Invariant: nobody waits who could be served; a key without permits in use takes no memory.
 */
import { setMaxListeners } from 'node:events'

interface Waiter {
  readonly workspaceId: string
  readonly serve: () => void
}

interface KeyState {
  inUse: number
  readonly inUseByWorkspace: Map<string, number>
  readonly waiters: Set<Waiter>
}

export class Permits {
  private readonly limit: number
  private readonly states = new Map<string, KeyState>()
  private held = 0

  constructor(limit: number) {
    this.limit = limit
  }

  /** In use, of all keys. */
  get total(): number {
    return this.held
  }

  inUse(key: string): number {
    return this.states.get(key)?.inUse ?? 0
  }

  /** Waits for a permit; call `release` for it once. Rejects with the signal's reason when that strikes first. */
  async acquire(key: string, party: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    const line = this.states.get(key) ?? { inUse: 0, inUseByWorkspace: new Map(), waiters: new Set() }
    this.states.set(key, line)
    if (this.mayAcquire(line, party)) this.grant(line, party)
    else await this.waitForTurn(line, party, signal)
  }

  release(key: string, party: string): void {
    const line = this.states.get(key)
    if (line === undefined) return
    const left = (line.inUseByWorkspace.get(party) ?? 1) - 1
    if (left > 0) line.inUseByWorkspace.set(party, left)
    else line.inUseByWorkspace.delete(party)
    line.inUse--
    this.held--
    for (const waiter of line.waiters) {
      if (line.inUse >= this.limit) break
      if (this.mayAcquire(line, waiter.workspaceId)) waiter.serve()
    }
    if (line.inUse === 0) this.states.delete(key)
  }

  private mayAcquire({ inUse, inUseByWorkspace }: KeyState, party: string): boolean {
    return inUse < this.limit && (inUseByWorkspace.get(party) ?? 0) < Math.max(1, this.limit - 1)
  }

  private grant(line: KeyState, party: string): void {
    line.inUse++
    line.inUseByWorkspace.set(party, (line.inUseByWorkspace.get(party) ?? 0) + 1)
    this.held++
  }

  private waitForTurn(line: KeyState, workspaceId: string, signal: AbortSignal): Promise<void> {
    // One signal stops hundreds that wait: that many listeners are no leak.
    setMaxListeners(0, signal)
    return new Promise((resolve, reject) => {
      const end = (): void => {
        line.waiters.delete(waiter)
        signal.removeEventListener('abort', aborted)
      }
      const aborted = (): void => {
        end()
        reject(signal.reason)
      }
      const waiter: Waiter = {
        workspaceId,
        serve: () => {
          end()
          this.grant(line, workspaceId)
          resolve()
        },
      }
      line.waiters.add(waiter)
      signal.addEventListener('abort', aborted, { once: true })
    })
  }
}
