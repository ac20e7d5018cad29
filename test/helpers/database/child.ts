/**
 * Another process for the storage tests: `child.js FILE MODE`. Reports on standard output, one line each,
 * synchronously, so that a kill loses no line.
 *
 *     write    writes numbers into service_state, ten requests at a time, endlessly; prints each number once it is acknowledged
 *     once     opens, prints `ready`, writes one row, prints `acknowledged`
 *     open     opens, reads, writes one row, prints the result of each
 *     retry    the same, and tries again until the row is written
 *     lock     holds the data folder until it is killed
 */
import { writeSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { lockDataFolder } from '../../../src/base/storage/db/data-lock.js'
import type { Database } from '../../../src/base/storage/db/database.js'
import { StorageFault } from '../../../src/base/storage/db/write.js'
import { openDatabase } from '../../../src/base/storage/open.js'
import { stateWrite } from './state.js'

/** Waits while the pipe is full: it does not block. */
function say(line: string): void {
  for (;;) {
    try {
      writeSync(1, `${line}\n`)
      return
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1)
    }
  }
}

function outcomeOf(error: unknown): string {
  return error instanceof StorageFault ? `fault ${error.code}` : String(error)
}

async function writeForEver({ commit }: Database): Promise<never> {
  let next = 0
  const loop = async (): Promise<never> => {
    for (;;) {
      const number = next++
      await commit([stateWrite(`${number}`, 'first'), stateWrite(`${number}-too`, 'second')])
      say(`${number}`)
    }
  }
  return Promise.race(Array.from({ length: 10 }, loop))
}

async function writeOnce(database: Database): Promise<void> {
  say('ready')
  await database.commit([stateWrite(`once ${process.pid}`, 'acknowledged')])
  say('acknowledged')
  await database.close()
}

async function write({ commit }: Database): Promise<string> {
  return commit([stateWrite('open', 'written')]).then(() => 'written', outcomeOf)
}

async function open(file: string, again: boolean): Promise<void> {
  try {
    const database = await openDatabase({ file })
    say(`read ${(await database.read('select key from service_state', [])).length}`)
    let said = await write(database)
    say(said)
    while (again && said !== 'written') {
      await pause(5)
      said = await write(database)
    }
    if (again) say(said)
    await database.close()
  } catch (error) {
    say(outcomeOf(error))
  }
}

const [, , file = '', mode] = process.argv
if (mode === 'write') await writeForEver(await openDatabase({ file }))
if (mode === 'once') await writeOnce(await openDatabase({ file }))
if (mode === 'open' || mode === 'retry') await open(file, mode === 'retry')
if (mode === 'lock') {
  lockDataFolder(dirname(file))
  say('held')
  setInterval(() => undefined, 1000)
}
