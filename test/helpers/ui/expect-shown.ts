/**
 * Assertions about what a page shows, which wait for it: a page changes some time after the action that changes it.
 *
 *     await expectEqual(t, () => page.getByRole('row').count(), 3, 'one row for each record')
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { Test } from 'tap'

const POLL_INTERVAL = 25
const TIMEOUT = 10_000

/** Reads until the value is as expected, or the time is over; the value that was read last. */
async function readUntil<T>(read: () => Promise<T>, isExpected: (value: T) => boolean): Promise<T> {
  const deadline = performance.now() + TIMEOUT
  for (;;) {
    const value = await read()
    if (isExpected(value) || performance.now() >= deadline) return value
    await pause(POLL_INTERVAL)
  }
}

export async function expectEqual<T>(t: Test, read: () => Promise<T>, expected: T, message = ''): Promise<void> {
  t.equal(await readUntil(read, (value) => value === expected), expected, message)
}

export async function expectMatch(
  t: Test,
  read: () => Promise<string | null> | string,
  expected: RegExp,
  message = '',
): Promise<void> {
  t.match(
    await readUntil(
      async () => (await read()) ?? '',
      (text) => expected.test(text),
    ),
    expected,
    message,
  )
}

export async function expectSame<T>(t: Test, read: () => Promise<T[]>, expected: T[], message = ''): Promise<void> {
  const isExpected = (value: T[]): boolean => JSON.stringify(value) === JSON.stringify(expected)
  t.same(await readUntil(read, isExpected), expected, message)
}
