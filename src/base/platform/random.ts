/** A random number in [0, 1), to spread retries and to shuffle equal hosts. Never use it for secrets. */
export type RandomSource = () => number

export const systemRandom: RandomSource = () => Math.random()
