/** Makes an input smaller as long as it shows the same fault: chunks are removed, then bytes become plain. */

const PLAIN = 0x61

/** `shows` is asked at most `maxTries` times. */
export async function minimize(
  input: Buffer,
  shows: (candidate: Buffer) => Promise<boolean>,
  maxTries = 2_000,
): Promise<Buffer> {
  let tries = 0
  let best = input
  const attempt = async (candidate: Buffer): Promise<boolean> => {
    tries += 1
    if (!(await shows(candidate))) return false
    best = candidate
    return true
  }
  for (let size = Math.ceil(best.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let at = 0; at < best.length && tries < maxTries; ) {
      if (!(await attempt(Buffer.concat([best.subarray(0, at), best.subarray(at + size)])))) at += size
    }
  }
  for (let at = 0; at < best.length && tries < maxTries; at += 1) {
    if (best[at] === PLAIN) continue
    const plain = Buffer.from(best)
    plain[at] = PLAIN
    await attempt(plain)
  }
  return best
}
