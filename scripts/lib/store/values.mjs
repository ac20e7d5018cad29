// What those who fill and those who ask share: the time that the data covers, ids, and the names that requests ask for.
export const DAY = 86_400_000
/** Less than the time for which events are kept. */
export const DAYS = 89

/** SQL of a UUIDv7 of the moment `at` whose last part is `number`. */
export const idOf = (at, number) => `printf('%08x-%04x-7000-8000-%012x', (${at}) >> 16, (${at}) & 65535, ${number})`

export const DOMAINS = ['a.test', 'mail.example.test', 'news.example.test', 'shop.example.test', 'rare.example.test']
export const AUDIENCES = [1, 2, 3, 4].map((n) => `019aa000-0000-7000-8000-00000000a0${n}0`)
export const WEBHOOK = '019aa000-0000-7000-8000-00000000c0c0'
export const BROADCAST = '019aa000-0000-7000-8000-00000000b0b0'
