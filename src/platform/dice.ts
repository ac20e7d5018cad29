/** A number in [0, 1): spreads retries, shuffles equal hosts. Never for secrets. */
export type Dice = () => number

export const systemDice: Dice = () => Math.random()
