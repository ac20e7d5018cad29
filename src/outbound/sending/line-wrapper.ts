/** Wraps the long lines of messages: small ones at once, others on the thread that composes messages. */
import type { ComposeThread, MessageToWrap } from './compose-thread.js'
import { wrapLongLines } from './wrap-long-lines.js'

/** Bytes from which on a message goes to the thread. Below, it takes a few milliseconds. */
const ON_THREAD_FROM = 131_072

export class LineWrapper {
  constructor(private readonly composing: Pick<ComposeThread, 'wrap'>) {}

  /**
   * Returns null if the message cannot be wrapped. `raw` may be empty afterwards. Rejects with `unavailable` if too many
   * messages of the workspace's owner wait.
   */
  async wrap(message: MessageToWrap): Promise<Buffer | null> {
    const { raw, maxLineOctets } = message
    return raw.length < ON_THREAD_FROM ? wrapLongLines(raw, maxLineOctets) : this.composing.wrap(message)
  }
}
