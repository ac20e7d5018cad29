/**
 * A command that is started as root works as the daemon's user: it must not create files that the daemon cannot open,
 * and must not accept files that the daemon cannot read.
 *
 * That user is the owner of the data folder. Before the folder exists (systemd creates it at the first start), it is
 * the unit's user `posthorn`, if the machine has one.
 */
import { execFileSync } from 'node:child_process'
import { accessSync, constants, statSync } from 'node:fs'
import { userInfo } from 'node:os'
import { errorCodeOf, errorMessageOf } from '../../../base/platform/errors.js'
import { CommandFailed } from './command.js'

/** A command that root has started works as the user of the daemon afterwards. */
export const startedAsRoot = process.getuid?.() === 0

/** The user of the systemd unit. */
const UNIT_USER = 'posthorn'

/** Missing in the types of Node.js. */
interface Initgroups {
  readonly initgroups?: (user: string | number, extraGroup: string | number) => void
}

interface Ids {
  readonly uid: number
  readonly gid: number
}

/** Changes the user for commands that use the data folder. If there is none, root stays root. */
export function becomeOwner(folder: string): void {
  switchUser(statSync(folder, { throwIfNoEntry: false }) ?? null)
}

/** A file of a closed folder would look as if it were absent: "no daemon runs", "there is no database". */
export function requireFolderAccess(folder: string): void {
  try {
    accessSync(folder, constants.R_OK | constants.X_OK)
  } catch (error) {
    if (errorCodeOf(error) !== 'EACCES') return
    throw new CommandFailed(`${folder}: not permitted for the user ${currentUser()}: ${adviseUser(findOwner(folder))}`)
  }
}

/** `user` is the user of the daemon. */
export function adviseUser(user = UNIT_USER): string {
  return user === 'root' ? 'run the command as root' : `run the command as root, or as the user ${user}`
}

/** The configuration that packages install is closed to ordinary users. */
export function describeForbidden(file: string): string {
  return `the user ${currentUser()} may not read ${file}: use sudo, or log in as root`
}

/**
 * A file of root, which a command that root has started can no longer read. `instead` is the command that reads it from
 * standard input. Other errors are returned as they are.
 */
export function explainClosedFile(error: unknown, instead: string): unknown {
  if (errorCodeOf(error) !== 'EACCES') return error
  const reason = `this command runs as the user ${currentUser()}, which may not read it`
  return new CommandFailed(`${errorMessageOf(error)}: ${reason}: ${instead}`)
}

/** Changes the user for commands that check what the daemon can do. */
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

/** The name of this process's user, or its number if it has no name. */
export function currentUser(): string {
  try {
    return userInfo().username
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`
  }
}

/** Sets all groups of the user, as systemd does: a certificate may be readable by one of them only. */
function setSupplementaryGroups({ uid, gid }: Ids): void {
  try {
    ;(process as Initgroups).initgroups?.(uid, gid)
  } catch {
    // The user has no entry in the user database.
    process.setgroups?.([gid])
  }
}

/** Undefined if a folder above is closed too, or the owner has no name. */
function findOwner(folder: string): string | undefined {
  try {
    const id = String(statSync(folder).uid)
    return execFileSync('id', ['-nu', id], { stdio: ['ignore', 'pipe', 'ignore'] })
      .toString()
      .trim()
  } catch {
    return undefined
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
