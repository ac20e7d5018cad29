/**
 * Started as root, a command works as the owner of the data folder: it must not leave
 * files there that the daemon cannot open.
 */
import { statSync } from 'node:fs'

export function becomeOwner(folder: string): void {
  if (process.getuid?.() !== 0) return
  const owner = statSync(folder, { throwIfNoEntry: false })
  if (owner === undefined || owner.uid === 0) return
  process.setgroups?.([owner.gid])
  process.setgid?.(owner.gid)
  process.setuid?.(owner.uid)
}
