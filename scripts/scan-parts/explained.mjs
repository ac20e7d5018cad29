/**
 * Findings that are no fault, each with its reason. `listener`: where it may appear; `id` and `text`: what it is.
 * An explanation that explains nothing any more fails the scan too.
 */
export const explained = []
