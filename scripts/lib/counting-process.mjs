// A program in a process of its own that takes messages or events, and prints their number as `WORD=N` whenever it changes.
import { spawn } from 'node:child_process'
import { once } from 'node:events'

const MAX_WAIT = 1_800_000

export function startCounting([program, ...words], word) {
  const child = spawn(program, words.map(String), { stdio: ['ignore', 'pipe', 'inherit'] })
  const pattern = new RegExp(`${word}=(\\d+)`, 'g')
  let count = 0
  let check = () => undefined
  child.stdout.on('data', (chunk) => {
    for (const [, number] of chunk.toString().matchAll(pattern)) count = Number(number)
    check()
  })
  return {
    count: () => count,
    received: (expected) =>
      new Promise((resolve, reject) => {
        const late = setTimeout(() => reject(new Error(`${word}: got ${count} of ${expected}`)), MAX_WAIT)
        check = () => {
          if (count < expected) return
          clearTimeout(late)
          resolve()
        }
        check()
      }),
    stop: async () => {
      child.kill()
      await once(child, 'exit')
    },
  }
}
