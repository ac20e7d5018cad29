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
  readonly party: string
  readonly serve: () => void
}

interface Line {
  inUse: number
  readonly byParty: Map<string, number>
  readonly waiting: Set<Waiter>
}

export class Permits {
  private readonly limit: number
  private readonly lines = new Map<string, Line>()
  private held = 0

  constructor(limit: number) {
    this.limit = limit
  }

  /** In use, of all keys. */
  get total(): number {
    return this.held
  }

  inUse(key: string): number {
    return this.lines.get(key)?.inUse ?? 0
  }

  /** Waits for a permit; call `release` for it once. Rejects with the signal's reason when that strikes first. */
  async acquire(key: string, party: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    const line = this.lines.get(key) ?? { inUse: 0, byParty: new Map(), waiting: new Set() }
    this.lines.set(key, line)
    if (this.mayHave(line, party)) this.grant(line, party)
    else await this.turn(line, party, signal)
  }

  release(key: string, party: string): void {
    const line = this.lines.get(key)
    if (line === undefined) return
    const left = (line.byParty.get(party) ?? 1) - 1
    if (left > 0) line.byParty.set(party, left)
    else line.byParty.delete(party)
    line.inUse--
    this.held--
    for (const waiter of line.waiting) {
      if (line.inUse >= this.limit) break
      if (this.mayHave(line, waiter.party)) waiter.serve()
    }
    if (line.inUse === 0) this.lines.delete(key)
  }

  private mayHave({ inUse, byParty }: Line, party: string): boolean {
    return inUse < this.limit && (byParty.get(party) ?? 0) < Math.max(1, this.limit - 1)
  }

  private grant(line: Line, party: string): void {
    line.inUse++
    line.byParty.set(party, (line.byParty.get(party) ?? 0) + 1)
    this.held++
  }

  private turn(line: Line, party: string, signal: AbortSignal): Promise<void> {
    // One signal stops hundreds that wait: that many listeners are no leak.
    setMaxListeners(0, signal)
    return new Promise((resolve, reject) => {
      const end = (): void => {
        line.waiting.delete(waiter)
        signal.removeEventListener('abort', aborted)
      }
      const aborted = (): void => {
        end()
        reject(signal.reason)
      }
      const waiter: Waiter = {
        party,
        serve: () => {
          end()
          this.grant(line, party)
          resolve()
        },
      }
      line.waiting.add(waiter)
      signal.addEventListener('abort', aborted, { once: true })
    })
  }
}
