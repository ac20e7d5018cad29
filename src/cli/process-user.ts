/**
 * Started as root, a command works as the daemon's user: it must not leave files there that the daemon
 * cannot open, and must not find in order what the daemon cannot read.
 *
 * That user is the owner of the data folder. Before there is one (systemd makes it at the first start), it is
 * the user `posthorn` of the unit, where the machine has one.
 */
import { execFileSync } from 'node:child_process'
import { statSync } from 'node:fs'
import { userInfo } from 'node:os'

/** As the unit has it. */
const UNIT_USER = 'posthorn'

/** Node.js has it, its types do not. */
interface Initgroups {
  readonly initgroups?: (user: string | number, extraGroup: string | number) => void
}

interface Ids {
  readonly uid: number
  readonly gid: number
}

/** For a command that works with the data folder: without one, root goes on as root. */
export function becomeOwner(folder: string): void {
  switchUser(statSync(folder, { throwIfNoEntry: false }) ?? null)
}

/** For a command that judges for the daemon. */
export function becomeDaemonUser(folder: string): void {
  if (process.getuid?.() !== 0) return
  switchUser(statSync(folder, { throwIfNoEntry: false }) ?? findIds(UNIT_USER))
}

function switchUser(ids: Ids | null): void {
  if (process.getuid?.() !== 0 || ids === null || ids.uid === 0) return
  setSupplementaryGroups(ids)
  process.setgid?.(ids.gid)
  process.setuid?.(ids.uid)
}

/** The name of the user as whom this process works; the number where it has none. */
export function currentUser(): string {
  try {
    return userInfo().username
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`
  }
}

/** All groups of the user, as a service has them: a certificate may be readable by one of them alone. */
function setSupplementaryGroups({ uid, gid }: Ids): void {
  try {
    ;(process as Initgroups).initgroups?.(uid, gid)
  } catch {
    // A user without an entry in the user database.
    process.setgroups?.([gid])
  }
}

function findIds(user: string): Ids | null {
  const id = (option: string): number =>
    Number(execFileSync('id', [option, user], { stdio: ['ignore', 'pipe', 'ignore'] }))
  try {
    return { uid: id('-u'), gid: id('-g') }
  } catch {
    return null
  }
}
