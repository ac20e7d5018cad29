// The ways in which providers count messages: each limiter takes one or says no, at a time in milliseconds.

const limiters = { bucket: createBucket, fixed: createFixedWindow, sliding: createSlidingWindow }

/** `take(now)`: whether one more message is within the limit; one that is refused does not count. */
export function createLimiter(rate) {
  return rate === undefined ? { take: () => true } : limiters[rate.kind](rate)
}

function createBucket({ perSecond, burst }) {
  let tokens = burst
  let at = 0
  return {
    take: (now) => {
      tokens = Math.min(burst, tokens + ((now - at) / 1000) * perSecond)
      at = now
      if (tokens < 1) return false
      tokens -= 1
      return true
    },
  }
}

/** Windows begin at fixed moments, so that twice the limit fits around the beginning of one. */
function createFixedWindow({ perSecond, window }) {
  let current = 0
  let count = 0
  return {
    take: (now) => {
      const index = Math.floor(now / window)
      if (index !== current) {
        current = index
        count = 0
      }
      if (count >= (perSecond * window) / 1000) return false
      count += 1
      return true
    },
  }
}

/** The messages of the last `window` milliseconds, in slices of a tenth. */
function createSlidingWindow({ perSecond, window }) {
  const slices = new Map()
  const length = window / 10
  return {
    take: (now) => {
      const slice = Math.floor(now / length)
      for (const old of slices.keys()) if (old <= slice - 10) slices.delete(old)
      const count = [...slices.values()].reduce((sum, one) => sum + one, 0)
      if (count >= (perSecond * window) / 1000) return false
      slices.set(slice, (slices.get(slice) ?? 0) + 1)
      return true
    },
  }
}
