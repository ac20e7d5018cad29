/** The stream to the parent process, on the descriptor after the standard ones: what `stdio[3]` is to the parent. */
import { Socket } from 'node:net'
import type { Duplex } from 'node:stream'

export function openParentStream(): Duplex {
  return new Socket({ fd: 3 })
}
