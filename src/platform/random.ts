/** A number in [0, 1): spreads retries, shuffles equal hosts. Never for secrets. */
export type RandomSource = () => number

export const systemRandom: RandomSource = () => Math.random()
