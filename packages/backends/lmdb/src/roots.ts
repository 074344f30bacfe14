/**
 * The two roots at the head of the file, looked at before LMDB does: what it refuses to open, lmdb-js 3.5 ends the process for. The places
 * are those of `MDB_meta` in `mdb.c`, data version 2.
 */
import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { endianness } from "node:os";

const AT = { flags: 18, magic: 24, version: 28, pageSize: 48, lastPage: 144, end: 168 } as const;
const MAGIC = 0xbeefc0de;
const VERSION = 2;
const META_FLAG = 0x08;
const PAGE_SIZES = { least: 256, most: 65_536 } as const;
/** A file may end before its last pages if they are free, but not by more than this, in bytes, and its own length. */
const SLACK_BYTES = 67_108_864;

/** What is wrong with a file; null when it can be opened, or is empty. */
export const faultOf = (path: string): string | null => {
  const file = openSync(path, "r");
  try {
    const { size } = fstatSync(file);
    // written and read in the machine's own order
    if (size === 0 || endianness() !== "LE") return null;
    const first = rootAt(file, 0);
    if (first === null) return "is not an LMDB file";
    const second = rootAt(file, first.pageSize);
    if (second === null || second.pageSize !== first.pageSize) return "is damaged at its beginning, or cut short";
    const reach = (Math.max(first.lastPage, second.lastPage) + 1) * first.pageSize;
    return reach > 2 * size + SLACK_BYTES ? "is cut short, or damaged at its beginning" : null;
  } finally {
    closeSync(file);
  }
};

interface Root {
  readonly pageSize: number;
  readonly lastPage: number;
}

const rootAt = (file: number, position: number): Root | null => {
  const head = Buffer.alloc(AT.end);
  if (readSync(file, head, 0, AT.end, position) < AT.end) return null;
  const pageSize = head.readUInt32LE(AT.pageSize);
  const isRoot =
    (head.readUInt16LE(AT.flags) & META_FLAG) !== 0 &&
    head.readUInt32LE(AT.magic) === MAGIC &&
    head.readUInt16LE(AT.version) === VERSION &&
    pageSize >= PAGE_SIZES.least &&
    pageSize <= PAGE_SIZES.most &&
    Number.isInteger(Math.log2(pageSize));
  return isRoot ? { pageSize, lastPage: Number(head.readBigUInt64LE(AT.lastPage)) } : null;
};
