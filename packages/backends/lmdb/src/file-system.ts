/** Where a directory lies: LMDB maps its file, and maps and locks do not reach other hosts. */
import { readFileSync, statfsSync } from "node:fs";

/** f_type of file systems that other hosts share: NFS, SMB, SMB2, CIFS, AFS, Coda, Ceph, Lustre, GFS2, OCFS2, 9p, GPFS. */
const REMOTE: ReadonlyMap<number, string> = new Map([
  [0x6969, "NFS"],
  [0x517b, "SMB"],
  [0xfe534d42, "SMB"],
  [0xff534d42, "CIFS"],
  [0x5346414f, "AFS"],
  [0x73757245, "Coda"],
  [0x00c36400, "Ceph"],
  [0x0bd00bd0, "Lustre"],
  [0x01161970, "GFS2"],
  [0x7461636f, "OCFS2"],
  [0x01021997, "9p"],
  [0x47504653, "GPFS"],
]);

/** f_type of what a program serves: which one, the list of mounts says. */
const FUSE = 0x65735546;

/** Programs that serve files of other hosts or of object stores. */
const REMOTE_FUSE = /sshfs|s3|gcs|rclone|glusterfs|davfs|curlftpfs|blobfuse|juicefs|goofys|nfs|ceph|smb/;

/** The name of the network file system that a directory is on; null when it is on none. */
export const networkFileSystem = (directory: string): string | null => {
  const type = statfsSync(directory).type >>> 0;
  const known = REMOTE.get(type);
  if (known !== undefined || type !== FUSE) return known ?? null;
  const mounted = fileSystemOf(readFileSync("/proc/self/mounts", "utf8"), directory);
  return mounted !== null && REMOTE_FUSE.test(mounted) ? mounted : null;
};

/** What is mounted at the longest path above a directory, by the text of /proc/self/mounts: the device and the type. */
export const fileSystemOf = (mounts: string, directory: string): string | null => {
  let best: { readonly path: string; readonly mounted: string } | null = null;
  for (const line of mounts.split("\n")) {
    const [device = "", escaped = "", type = ""] = line.split(" ");
    const path = escaped.replaceAll(/\\(\d{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
    const isAbove = path === "/" || directory === path || directory.startsWith(`${path}/`);
    if (path !== "" && isAbove && path.length >= (best?.path.length ?? 0)) best = { path, mounted: `${device} ${type}` };
  }
  return best?.mounted ?? null;
};
