/**
 * The source addresses of one attempt. An address that this machine turns out not to have is replaced: no host was
 * called from it, so the hosts are called again from the next address of the pool.
 */

import { SourceAddressError } from '../../../base/platform/dialer.js'
import type { QueueEntry } from '../../../records/messages/queue/queue.js'
import type { Destination, Host } from '../hosts/destination.js'
import type { Outage } from '../shaping/unreachable-hosts.js'
import type { SendResult } from '../smtp/send-result.js'
import type { SourceAssigner, SourceAssignment } from './source-assigner.js'

/** The most addresses that one attempt replaces. */
const MAX_REPLACED = 16

export class AttemptSources {
  private assignment: SourceAssignment | null = null
  private replaced = 0

  constructor(
    private readonly entry: QueueEntry,
    private readonly found: Destination,
    private readonly assigner: Pick<SourceAssigner, 'assign' | 'noteMissing'>,
  ) {}

  async assign(): Promise<void> {
    this.assignment = await this.assigner.assign(this.entry, this.found)
  }

  /** Not null if the message may not be sent yet. A delay notice that is due gives it as the reason. */
  get wait(): Outage | null {
    return this.assignment?.wait ?? null
  }

  /** The destination to which the message may be sent now. */
  get destination(): Destination {
    const { wait } = this
    if (wait !== null) return { kind: 'temporary', reason: 'warming-up', response: wait.why }
    return this.assignment?.destination ?? this.found
  }

  /** Marks an outage of only one of our addresses: entries that leave from another address need not wait for it. */
  narrow(outage: Outage | null): Outage | null {
    return outage !== null && this.assignment?.isOfEntry === true ? { ...outage, isOfEntry: true } : outage
  }

  readonly count = (host: Host, sent: SendResult): void => this.assignment?.count(host, sent)

  /** Resolves to false if the error is another one, or if no more addresses are tried. */
  async replaceMissing(error: unknown): Promise<boolean> {
    if (!(error instanceof SourceAddressError) || this.replaced >= MAX_REPLACED) return false
    this.replaced += 1
    this.assigner.noteMissing(error.address)
    this.release()
    await this.assign()
    return true
  }

  release(): void {
    this.assignment?.release()
  }
}
