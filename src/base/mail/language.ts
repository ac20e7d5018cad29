/** The languages of what recipients read: the footer of broadcasts, and the page on which they unsubscribe. */
export const languages = ['en', 'de', 'fr', 'es', 'it', 'nl', 'pt', 'pl'] as const

export type Language = (typeof languages)[number]
