/**
 * Removes the stale file of a Unix socket: a killed program leaves it behind, and it would keep the next one
 * from listening there.
 *
 * A socket at which a program answers, and a file of another kind, stay.
 */
import { access, lstat, unlink } from 'node:fs/promises'
import { connect } from 'node:net'
import { dirname } from 'node:path'

/** Rejects if the path is in use or its folder does not exist. */
export async function removeStaleSocket(path: string): Promise<void> {
  await access(dirname(path)) // a missing folder would make listen() say "permission denied"
  const stats = await lstat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })
  if (stats === null) return
  if (!stats.isSocket()) throw new Error(`${path} exists and is not a socket`)
  if (await isListening(path)) throw new Error(`${path} is in use: another program answers there`)
  await unlink(path)
}

function isListening(path: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const socket = connect({ path })
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNREFUSED') resolve(false)
      // EAGAIN means that the program's queue of connections is full.
      else if (error.code === 'EAGAIN') resolve(true)
      else reject(error)
    })
  })
}
